"""Uploads with tuspy as its users do. Reads its task as JSON, and writes what happened as JSON."""

import json
import sys

from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError
from tusclient.storage.filestorage import FileStorage

task = json.load(sys.stdin)
client = TusClient(task["endpoint"], headers={"Authorization": "Bearer " + task["token"]})


def open_uploader():
    """Each time as after a restart of the program: only the storage of addresses is still there."""
    return client.uploader(
        task["path"],
        chunk_size=task["chunkSize"],
        metadata={"filename": task["filename"]},
        upload_checksum=True,
        store_url=True,
        url_storage=FileStorage(task["addresses"]),
        retries=task.get("retries", 0),
        retry_delay=0,
    )


seen = {"offsets": []}
try:
    if task.get("stopAfter"):
        first = open_uploader()
        for _ in range(task["stopAfter"]):
            first.upload_chunk()
    uploader = open_uploader()
    seen["offsets"].append(uploader.offset)
    uploader.upload()
    seen["offsets"].append(uploader.offset)
    seen["fileId"] = uploader.request.response_headers.get("x-file-id")
except TusCommunicationError as error:
    seen["status"] = error.status_code
print(json.dumps(seen))
