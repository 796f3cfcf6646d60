import { Readable } from "node:stream";
import type { FileInfo, GuestFiles } from "../../src/runtime/guest/guest.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";

/** The same sandbox, with a guest that answers some file calls as it likes. */
export function withFiles(sandbox: Sandbox, files: Partial<GuestFiles>): Sandbox {
  const guest = { ...sandbox.guest, files: { ...sandbox.guest.files, ...files } };
  return {
    id: sandbox.id,
    owner: sandbox.owner,
    inside: sandbox.inside,
    guest,
    timeLine: sandbox.timeLine,
    info: () => sandbox.info(),
    usage: () => sandbox.usage(),
    knownOomKills: () => sandbox.knownOomKills(),
    workspaceBase: (keys) => sandbox.workspaceBase(keys),
    workspaceBaseText: (key) => sandbox.workspaceBaseText(key),
    extend: (ms, action) => sandbox.extend(ms, action),
    pause: () => sandbox.pause(),
    resume: () => sandbox.resume(),
    stop: () => sandbox.stop(),
    start: (abort) => sandbox.start(abort),
    setNetwork: (policy) => sandbox.setNetwork(policy),
    watchRefusals: () => sandbox.watchRefusals(),
    environment: () => sandbox.environment(),
    ports: () => sandbox.ports(),
    portLinks: () => sandbox.portLinks(),
    registerPort: (port, access) => sandbox.registerPort(port, access),
    removePort: (port) => sandbox.removePort(port),
    kill: () => sandbox.kill(),
    connect: (abort) => sandbox.connect(abort),
  };
}

export function row(path: string | Buffer, more: Partial<FileInfo> = {}): FileInfo {
  const rawPath = Buffer.from(path);
  return {
    path: rawPath.toString(),
    rawPath,
    type: "file",
    size: 4,
    mode: 0o644,
    uid: 0,
    gid: 0,
    owner: "user",
    group: "user",
    mtimeNs: 1n,
    inode: 1n,
    links: 1,
    ...more,
  };
}

export function listing(...rows: readonly FileInfo[]): Pick<GuestFiles, "list"> {
  return { list: () => Readable.from(rows) as AsyncIterable<FileInfo> };
}

/** A guest that lists these rows, and whose every file holds `evil`. */
export function lying(sandbox: Sandbox, ...rows: readonly FileInfo[]): Sandbox {
  const content = Buffer.from("evil");
  return withFiles(sandbox, {
    ...listing(...rows),
    read: () => Promise.resolve(content),
    open: (path) => Promise.resolve({ info: row(path), content: Readable.from([content]) }),
  });
}
