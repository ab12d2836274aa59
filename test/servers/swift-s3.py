"""OpenStack Swift and its S3 interface in one process, as an object store for tests.

usage: swift-s3.py FOLDER PORT ACCOUNT:USER SECRET

Prints `ready PORT` when it accepts connections and dies with its parent process. When restarted on
the same folder it still has its objects. The folder's file system must support user extended
attributes (ext4, xfs, btrfs, overlayfs, tmpfs since Linux 6.6).
"""

import ctypes
import os
import signal
import sys

import eventlet

eventlet.monkey_patch()

import swift.common.storage_policy as storage_policy
import swift.common.utils as utils
from eventlet import listen, spawn, wsgi
from swift.common import wsgi as swift_wsgi

PR_SET_PDEATHSIG = 1

SWIFT_CONF = """
[swift-hash]
swift_hash_path_prefix = prefix
swift_hash_path_suffix = suffix
[storage-policy:0]
name = gold
default = true
"""

PROXY_CONF = """
[DEFAULT]
swift_dir = {settings}
log_level = ERROR
log_address = {settings}/no-log
[pipeline:main]
pipeline = catch_errors gatekeeper listing_formats bulk s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
node_timeout = 30
conn_timeout = 5
error_suppression_interval = 0
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""

ACCESS_DENIED = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b"<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>"
)


def main(folder, port, access_key, secret):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    settings = os.path.join(folder, "settings")
    devices = os.path.join(folder, "devices")
    os.makedirs(settings, exist_ok=True)
    os.makedirs(os.path.join(devices, "disk"), exist_ok=True)

    configure_swift(settings)
    start_storage_servers(settings, devices)
    account, user = access_key.split(":")
    write(
        f"{settings}/proxy-server.conf",
        PROXY_CONF.format(settings=settings, account=account, user=user, secret=secret),
    )
    front = with_s3_refusals(swift_wsgi.loadapp(f"{settings}/proxy-server.conf", global_conf={}))

    socket = listen(("127.0.0.1", port), backlog=512)
    print("ready", socket.getsockname()[1], flush=True)
    serve(socket, front)


def configure_swift(settings):
    """Swift reads /etc/swift at import; this points it at our own folder instead."""
    write(f"{settings}/swift.conf", SWIFT_CONF)
    modules = [utils, storage_policy, sys.modules.get("swift.common.utils.config")]
    for module in filter(None, modules):
        if hasattr(module, "SWIFT_CONF_FILE"):
            module.SWIFT_CONF_FILE = f"{settings}/swift.conf"
        if hasattr(module, "HASH_PATH_PREFIX"):
            module.HASH_PATH_PREFIX, module.HASH_PATH_SUFFIX = b"prefix", b"suffix"
    utils.validate_hash_conf = lambda: None
    storage_policy.reload_storage_policies()


def start_storage_servers(settings, devices):
    from swift.account.server import AccountController
    from swift.container.server import ContainerController
    from swift.obj.server import ObjectController

    log = utils.get_logger({"log_level": "ERROR", "log_address": f"{settings}/no-log"}, name="swift")
    controllers = {
        "account": AccountController,
        "container": ContainerController,
        "object": ObjectController,
    }
    for kind, controller in controllers.items():
        socket = listen(("127.0.0.1", 0), backlog=512)
        port = socket.getsockname()[1]
        write_ring(f"{settings}/{kind}.ring.gz", port)
        options = {
            "devices": devices,
            "swift_dir": settings,
            "mount_check": "false",
            "disable_fallocate": "true",
            "fallocate_reserve": "0",
            # Even on a busy machine, a list must contain every object whose upload was answered.
            "conn_timeout": "10",
            "node_timeout": "60",
            "container_update_timeout": "60",
            "bind_port": str(port),
        }
        spawn(serve, socket, controller(options, log))


def write_ring(path, port):
    """One copy of everything on one device."""
    from swift.common.ring import RingBuilder

    ring = RingBuilder(1, 1, 0)
    device = {"id": 0, "zone": 1, "region": 1, "weight": 1, "device": "disk", "meta": ""}
    address = {"ip": "127.0.0.1", "port": port}
    replication = {"replication_ip": "127.0.0.1", "replication_port": port}
    ring.add_dev({**device, **address, **replication})
    ring.rebalance()
    ring.get_ring().save(path)


def with_s3_refusals(swift):
    cache = Cache()

    def application(environ, start_response):
        environ["swift.cache"] = cache
        if carries_credentials(environ):
            return swift(environ, start_response)
        # Swift would treat such a request as one for its own API and answer 400; S3 answers 403.
        headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(ACCESS_DENIED)))]
        start_response("403 Forbidden", headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else ACCESS_DENIED]

    return application


def carries_credentials(environ):
    header = environ.get("HTTP_AUTHORIZATION") or environ.get("HTTP_X_AUTH_TOKEN")
    return bool(header) or "Signature=" in environ.get("QUERY_STRING", "")


class Cache:
    """A substitute for memcached. Nothing expires, because no test runs long enough."""

    def __init__(self):
        self.values = {}

    def set(self, key, value, **_):
        self.values[key] = value

    def get(self, key, **_):
        return self.values.get(key)

    def incr(self, key, delta=1, **_):
        self.values[key] = int(self.values.get(key, 0)) + delta
        return self.values[key]

    def decr(self, key, delta=1, **_):
        return self.incr(key, -delta)

    def delete(self, key, **_):
        self.values.pop(key, None)

    def set_multi(self, mapping, *_, **__):
        self.values.update(mapping)

    def get_multi(self, keys, *_, **__):
        return [self.values.get(key) for key in keys]


class Silence:
    def write(self, *_):
        pass

    def flush(self):
        pass


def serve(socket, application):
    wsgi.server(
        socket,
        application,
        Silence(),
        protocol=swift_wsgi.SwiftHttpProtocol,
        capitalize_response_headers=False,
        debug=False,
        keepalive=True,
    )


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
