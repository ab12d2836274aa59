export { probeFolder, removeFile, syncFolder } from './disk.ts'
export {
  entityTag,
  isSmall,
  type OpenFile,
  openRegularFile,
  readRange,
  readSmallFile,
  readSmallRange,
} from './open-file.ts'
export { DOWNLOAD_PROBLEMS, UPLOAD_PROBLEMS, uploadTooLarge } from './problems.ts'
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
export { requireFileType } from './types/type.ts'
export { acceptUploads, FileForm, receiveUpload, type Upload, type UploadLimits } from './upload.ts'
