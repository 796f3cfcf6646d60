import { OPERATION } from "../../protocol/wire.ts";
import { acceptConnections } from "./accept.ts";
import { call } from "./call.ts";
import { attachExec, describeKept, keepExec, listKept, startExec } from "./exec.ts";
import { createFiles } from "./files.ts";
import type { Guest } from "./guest.ts";
import { Listeners } from "./listen.ts";
import { Link, type Connect, type LinkOptions } from "./link.ts";
import { guestUsage, listProcesses, shutdown, signalProcess } from "./processes.ts";
import { runToEnd } from "./run.ts";
import { dial } from "./socket.ts";
import { standStill } from "./still.ts";

/**
 * Creates the guest connection. It opens one stream with `connect` for each operation, and keeps no stream between operations.
 * When `ended` settles, all open operations fail with the sandbox's end reason.
 */
export function createGuest(connect: Connect, options: LinkOptions = {}): Guest {
  const link = new Link(connect, options);
  const listeners = new Listeners(link);
  return {
    files: createFiles(link),
    exec: (exec) => startExec(link, exec),
    keep: (name, kept) => keepExec(link, name, kept),
    attach: (name, signal) => attachExec(link, name, signal),
    listKept: (signal) => listKept(link, signal),
    describeKept: (name, signal) => describeKept(link, name, signal),
    run: (run) => runToEnd(link, run),
    dial: (port, signal) => dial(link, port, signal),
    accept: (service, accept) => acceptConnections(link, service, accept),
    listen: (addresses, listen) => listeners.listen(addresses, listen),
    processes: (signal) => listProcesses(link, signal),
    signalProcess: (pid, signalNumber, target) => signalProcess(link, pid, signalNumber, target),
    usage: (signal) => guestUsage(link, signal),
    ping: async (signal) => void (await call(link, OPERATION.PING, [], signal)),
    still: (signal) => standStill(link, signal),
    shutdown: (graceMs, signal) => shutdown(link, graceMs, signal),
  };
}
