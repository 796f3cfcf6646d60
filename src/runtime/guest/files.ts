import { FLAG, FRAME, OPERATION } from "../../protocol/wire.ts";
import { BelljarError } from "../../errors.ts";
import type { Field, Fields } from "../../protocol/fields.ts";
import { call, collectRows, Rows } from "./call.ts";
import { fileInfo } from "./file-info.ts";
import { openFile, readFile } from "./file-read.ts";
import { writeFile } from "./file-write.ts";
import type { FileCall, FileInfo, GuestFiles, GuestPath } from "./guest.ts";
import type { Link } from "./link.ts";
import { watchFiles } from "./watch.ts";

export function createFiles(link: Link): GuestFiles {
  /** Asks for one REPLY about one path, as the user that the caller chose. */
  const ask = (operation: number, path: GuestPath, options: FileCall, fields: readonly Field[] = []): Promise<Fields> =>
    call(link, operation, [["PATH", path], ["USER", options.user], ...fields], options.signal);
  return {
    stat: async (path, options) => {
      const fields = [["NAME", options.attributes] as const, ...flags(options.follow && FLAG.FOLLOW)];
      return fileInfo(await ask(OPERATION.STAT, path, options, fields), path);
    },
    list: (path, options) => listFiles(link, path, options),
    open: (path, options) => openFile(link, path, options),
    read: (path, options) => readFile(link, path, options),
    write: (path, content, options) => writeFile(link, path, content, options),
    makeDirectory: async (path, options) =>
      void (await ask(OPERATION.MAKE_DIRECTORY, path, options, [["MODE", options.mode], ...flags(options.parents && FLAG.PARENTS)])),
    rename: async (path, target, options) =>
      void (await ask(OPERATION.RENAME, path, options, [["TARGET", target], ...flags(options.replace === false && FLAG.EXCLUSIVE)])),
    remove: async (path, options) => void (await ask(OPERATION.REMOVE, path, options, flags(options.recursive && FLAG.RECURSIVE))),
    copy: async (path, target, options) =>
      void (await ask(OPERATION.COPY, path, options, [["TARGET", target], ...flags(options.recursive && FLAG.RECURSIVE)])),
    symlink: async (path, target, options) => void (await ask(OPERATION.SYMLINK, path, options, [["TARGET", target]])),
    setAttributes: async (path, options) =>
      void (await ask(OPERATION.SET_ATTRIBUTES, path, options, [
        ["MODE", options.mode],
        ["MTIME_NS", options.mtime && nanoseconds(options.mtime)],
        ["FLAGS", FLAG.FOLLOW],
      ])),
    getXattr: async (path, name, options) =>
      Buffer.from((await ask(OPERATION.GET_XATTR, path, options, [["NAME", name]])).needBytes("VALUE")),
    setXattr: async (path, name, value, options) =>
      void (await ask(OPERATION.SET_XATTR, path, options, [
        ["NAME", name],
        ["VALUE", value],
      ])),
    listXattrs: (path, options) => listXattrs(link, path, options),
    removeXattr: async (path, name, options) => void (await ask(OPERATION.REMOVE_XATTR, path, options, [["NAME", name]])),
    watch: (path, options) => watchFiles(link, path, options),
  };
}

function flags(flag: number | false | undefined): readonly Field[] {
  return flag ? [["FLAGS", flag]] : [];
}

function nanoseconds(date: Date): bigint {
  const ms = date.getTime();
  if (!(ms >= 0)) throw new BelljarError("ARGUMENTS_INVALID", "The time must be a valid date from 1970 on");
  return BigInt(ms) * 1_000_000n;
}

type ListOptions = Parameters<GuestFiles["list"]>[1];

async function* listFiles(link: Link, path: GuestPath, options: ListOptions): AsyncGenerator<FileInfo, void, undefined> {
  const fields = [
    ["PATH", path],
    ["USER", options.user],
    ["DEPTH", options.depth],
    ["NAME", options.attributes],
    ...(options.closed ?? []).map((name) => ["ARG", name] as const),
  ] as const;
  const rows = await Rows.open(link, OPERATION.LIST, fields, { row: FRAME.ENTRY, signal: options.signal });
  for await (const row of rows) yield fileInfo(row);
}

async function listXattrs(link: Link, path: GuestPath, options: FileCall): Promise<readonly string[]> {
  const fields = [
    ["PATH", path],
    ["USER", options.user],
  ] as const;
  return (await collectRows(link, OPERATION.LIST_XATTRS, fields, options.signal)).map((row) => row.needBytes("NAME").toString());
}
