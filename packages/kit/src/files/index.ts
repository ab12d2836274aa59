export { AppendFile } from './append-file.ts'
export {
  type FileBytes,
  HEAD_BYTES,
  probeFolder,
  removeFile,
  syncFolder,
} from './disk.ts'
export {
  entityTag,
  isSmall,
  type OpenFile,
  openRegularFile,
  PassingStream,
  passingChunks,
  readRange,
  readSmallFile,
  readSmallRange,
} from './open-file.ts'
export {
  DOWNLOAD_PROBLEMS,
  fileTypeMismatch,
  fileTypeUnsupported,
  preconditionFailed,
  UPLOAD_PROBLEMS,
  uploadAborted,
  uploadTooLarge,
  uploadTooSlow,
} from './problems.ts'
export {
  contentDisposition,
  type FileBody,
  failedPrecondition,
  fileReplies,
  type Representation,
  sendFile,
} from './send-file.ts'
export { HOST_NAME, Spool, type SpoolOptions, type SpoolReading } from './spool/spool.ts'
export { sweepOldSpools, sweepSpools } from './spool/sweep.ts'
export { FILE_TYPES, type FileType, fileTypes } from './types/catalogue.ts'
export {
  requireClaimedType,
  requireExtension,
  requireFileType,
  requireSignature,
} from './types/type.ts'
export {
  acceptUploads,
  FileForm,
  receiveBytes,
  receiveUpload,
  type Upload,
  type UploadLimits,
} from './upload.ts'
