import type { GuestFiles } from "../../sandbox/sandbox.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { ROOT } from "./root-user.ts";
import { orAbsent } from "./source-tree.ts";

const FILE_MAX = 1_048_576;
/** Ids of a sandbox end here. */
const ID_MAX = 65_535;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface Looking {
  readonly files: GuestFiles;
  readonly line: number;
  readonly signal: AbortSignal;
}

/** Whom `--chown` means, by the image's own `/etc/passwd` and `/etc/group`. A user alone stands for the group of the same number or entry. */
export async function findOwner(text: string, looking: Looking): Promise<Owner> {
  const [user = "", group] = text.split(":", 2);
  const entry = await findEntry("/etc/passwd", user, looking);
  const uid = toId(entry?.[2] ?? user);
  const gid = group === undefined || group === "" ? toId(entry?.[3] ?? user) : await findGroup(group, looking);
  if (uid !== undefined && gid !== undefined) return { uid, gid };
  throw invalidLine(looking.line, `--chown=${quoted(text)} names nobody of the image: add the user by a RUN before, or use numbers`);
}

async function findGroup(group: string, looking: Looking): Promise<number | undefined> {
  return toId((await findEntry("/etc/group", group, looking))?.[2] ?? group);
}

/** By its name, or by its number. */
async function findEntry(path: string, name: string, { files, signal }: Looking): Promise<readonly string[] | undefined> {
  const content = await orAbsent(files.read(path, { user: ROOT, maxBytes: FILE_MAX, signal }));
  const entries = (content?.toString() ?? "").split("\n").map((line) => line.split(":"));
  return entries.find(([one]) => one === name) ?? entries.find((entry) => /^\d+$/.test(name) && entry[2] === name);
}

function toId(text: string): number | undefined {
  const id = /^\d{1,5}$/.test(text) ? Number(text) : undefined;
  return id !== undefined && id <= ID_MAX ? id : undefined;
}
