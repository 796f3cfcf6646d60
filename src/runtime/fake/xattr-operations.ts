import { BelljarError } from "../../errors.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import type { FileRequest } from "./file-operations.ts";

export const XATTR_OPERATIONS = new Map<number, (request: FileRequest) => Promise<void>>([
  [OPERATION.GET_XATTR, async (request) => request.peer.reply([["VALUE", get(request)]])],
  [OPERATION.SET_XATTR, serveSet],
  [OPERATION.REMOVE_XATTR, serveRemove],
  [OPERATION.LIST_XATTRS, serveList],
]);

function get({ sandbox, fields, host }: FileRequest): Buffer {
  const name = fields.needBytes("NAME").toString();
  const value = sandbox.xattrs.of(host).get(name);
  if (!value) throw new BelljarError("FILE_NOT_FOUND", `No attribute "${name}"`);
  return value;
}

async function serveSet({ sandbox, peer, fields, host }: FileRequest): Promise<void> {
  sandbox.xattrs.of(host).set(fields.needBytes("NAME").toString(), Buffer.from(fields.needBytes("VALUE")));
  peer.reply();
}

async function serveRemove(request: FileRequest): Promise<void> {
  get(request);
  request.sandbox.xattrs.of(request.host).delete(request.fields.needBytes("NAME").toString());
  request.peer.reply();
}

async function serveList({ sandbox, peer, host }: FileRequest): Promise<void> {
  for (const name of sandbox.xattrs.of(host).keys()) await peer.row(FRAME.ENTRY, [["NAME", name]]);
  peer.reply();
}
