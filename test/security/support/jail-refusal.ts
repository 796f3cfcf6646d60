import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Field } from "../../../src/protocol/fields.ts";
import { encodeHead } from "../../../src/protocol/head.ts";
import { OPERATION } from "../../../src/protocol/wire.ts";
import { newId } from "./lab.ts";
import { isRoot } from "./outside.ts";

const BINARY = join(import.meta.dirname, "../../../native/build/belljar-native");

/** What the jail itself says of a specification that has a place and these fields. */
export async function jailRefusal(home: string, fields: readonly Field[]): Promise<string> {
  const id = newId();
  const folder = join(home, "sandboxes", id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place: readonly Field[] = [
    ["ID", id],
    ["RUN", 1],
    ["HOSTNAME", id],
    ["FOLDER", folder],
    ["SOCKETS", join(home, "../run", id)],
    ["LAYERS", join(folder, "layers")],
    ["SLOTS", "/run/belljar/slots"],
    ["STORAGE", 1],
    ["ID_MAP", isRoot ? 1 : 2],
  ];
  const child = spawn(BINARY, ["jail"], { stdio: ["pipe", "ignore", "inherit", "pipe", "pipe"] });
  const closed = once(child, "close");
  child.stdin?.end(encodeHead(OPERATION.JAIL, [...place, ...fields]));
  const status = child.stdio[3];
  if (!status) throw new Error("the jail has no status stream");
  const said = await buffer(status as NodeJS.ReadableStream);
  await closed;
  return said.toString("latin1");
}
