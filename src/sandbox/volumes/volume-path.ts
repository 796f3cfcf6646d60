import { BelljarError } from "../../errors.ts";

const PATH_MAX_BYTES = 3_900;

/** A path in a volume as its client writes it, below the volume's root. Throws `PATH_INVALID` for `..` and for a NUL. */
export function parseVolumePath(text: string): Buffer {
  const parts = text.split("/").filter((part) => part !== "" && part !== ".");
  const path = Buffer.from(parts.join("/"));
  if (path.length <= PATH_MAX_BYTES && !parts.some((part) => part === ".." || part.includes("\0"))) return path;
  throw new BelljarError("PATH_INVALID", `${JSON.stringify(text.slice(0, 200))} is no path in a volume: leave out ".."`);
}

export function showVolumePath(path: Buffer): string {
  return `/${path.toString()}`;
}

export function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf("/") + 1);
}

/** Empty for what lies in the root. */
export function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(0, path.lastIndexOf("/")));
}

export function below(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 0 ? name : Buffer.concat([folder, Buffer.from("/"), name]);
}
