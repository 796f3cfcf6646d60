import { BelljarError } from "../../errors.ts";
import type { Fields } from "../../protocol/fields.ts";
import type { Head } from "../../protocol/head.ts";
import { FLAG, FRAME, OPERATION } from "../../protocol/wire.ts";
import { serveExec } from "./exec-operation.ts";
import type { FakeSandbox } from "./fake-sandbox.ts";
import { FILE_OPERATIONS, type FileRequest } from "./file-operations.ts";
import type { Peer } from "./peer.ts";
import { findProcesses, signalIfPresent } from "./process-table.ts";
import { serveDial } from "./socket-operation.ts";
import { serveWatch } from "./watch-operation.ts";
import { serveWrite } from "./write-operation.ts";
import { XATTR_OPERATIONS } from "./xattr-operations.ts";

type Serve = (sandbox: FakeSandbox, peer: Peer, fields: Fields) => void | Promise<void>;

const PATH_OPERATIONS = new Map<number, (request: FileRequest) => Promise<void>>([
  ...FILE_OPERATIONS,
  ...XATTR_OPERATIONS,
  [OPERATION.WRITE, serveWrite],
  [OPERATION.WATCH, serveWatch],
]);

const OPERATIONS = new Map<number, Serve>([
  [OPERATION.PING, (_sandbox, peer) => peer.reply()],
  [OPERATION.EXEC, serveExec],
  [OPERATION.ATTACH, refuseAttach],
  [OPERATION.LIST_KEPT, (_sandbox, peer) => peer.reply()],
  [OPERATION.DIAL, (_sandbox, peer, fields) => serveDial(peer, fields)],
  [OPERATION.ACCEPT, serveAccept],
  [OPERATION.LISTEN, (sandbox, peer, fields) => sandbox.listens.listen(peer, fields)],
  [OPERATION.PROCESSES, serveProcesses],
  [OPERATION.SIGNAL_PROCESS, serveSignal],
  [OPERATION.USAGE, serveUsage],
  [OPERATION.STILL, refuseStill],
  [OPERATION.SHUTDOWN, serveShutdown],
]);

/** Serves one operation; whatever it throws becomes its ERROR frame. */
export async function serveOperation(sandbox: FakeSandbox, peer: Peer, { operation, fields }: Head): Promise<void> {
  try {
    const onPath = PATH_OPERATIONS.get(operation);
    const serve = OPERATIONS.get(operation);
    if (onPath) {
      const host = sandbox.paths.toHost(fields.needBytes("PATH"), fields.text("USER"));
      await onPath({ sandbox, peer, fields, host, flags: fields.number("FLAGS") ?? 0 });
    } else if (serve) await serve(sandbox, peer, fields);
    else throw new BelljarError("GUEST_PROTOCOL", `Unknown operation ${operation}`);
  } catch (error) {
    peer.fail(error);
  }
}

function refuseStill(_sandbox: FakeSandbox, peer: Peer): void {
  peer.fail(new BelljarError("NOT_SUPPORTED", "The fake runtime cannot make everything stand still"));
}

/** It keeps no commands (`serveExec`), so there is none. */
function refuseAttach(_sandbox: FakeSandbox, peer: Peer): void {
  peer.fail(new BelljarError("PROCESS_NOT_FOUND", "No kept command has this name"));
}

function serveAccept(sandbox: FakeSandbox, peer: Peer, fields: Fields): void {
  const service = fields.needBytes("SERVICE").toString();
  if ((fields.number("FLAGS") ?? 0) & FLAG.LISTENED) sandbox.listens.accept(peer, service);
  else sandbox.services.accept(peer, service);
}

async function serveProcesses(sandbox: FakeSandbox, peer: Peer): Promise<void> {
  for (const row of findProcesses(sandbox.id)) {
    await peer.row(FRAME.ENTRY, [
      ["PID", row.pid],
      ["PPID", row.ppid],
      ["PGID", row.pgid],
      ["SID", row.sid],
      ["UID", 1_000],
      ["MEMORY", row.memoryBytes],
      ["CPU_US", row.cpuUs],
      ["STARTED_MS", row.startedMs],
      ...row.argv.map((argument) => ["ARG", argument] as const),
    ]);
  }
  peer.reply();
}

function serveSignal(sandbox: FakeSandbox, peer: Peer, fields: Fields): void {
  const pid = fields.needNumber("PID");
  const row = findProcesses(sandbox.id).find((found) => found.pid === pid);
  if (!row) throw new BelljarError("PROCESS_NOT_FOUND", `No process ${pid}`);
  const wholeGroup = ((fields.number("FLAGS") ?? 0) & FLAG.WHOLE_GROUP) !== 0;
  signalIfPresent(wholeGroup ? -row.pgid : pid, fields.needNumber("SIGNAL"));
  peer.reply();
}

function serveUsage(sandbox: FakeSandbox, peer: Peer): void {
  const rows = findProcesses(sandbox.id);
  peer.reply([
    ["PROCESSES_COUNT", rows.length],
    ["MEMORY", rows.reduce((sum, row) => sum + row.memoryBytes, 0)],
    ["DISK_USED", 0],
    ["DISK_TOTAL", 0],
    ["UPTIME_MS", Math.round(performance.now() - sandbox.startedAt)],
  ]);
}

async function serveShutdown(sandbox: FakeSandbox, peer: Peer, fields: Fields): Promise<void> {
  await sandbox.terminateProcesses(fields.number("TIMEOUT_MS") ?? 0);
  peer.reply();
  peer.onGone(() => void sandbox.finish("exited"));
}
