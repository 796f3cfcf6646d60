import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A `/` of a host, and an empty folder for a layer beside it. Disposing it removes both. */
export interface HostRoot extends Disposable {
  readonly root: string;
  readonly layer: string;
  /** The content of a file is its path. */
  readonly file: (path: string, mode?: number) => void;
  readonly folder: (path: string, mode?: number) => void;
  readonly link: (path: string, target: string) => void;
}

export function makeHostRoot(): HostRoot {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), "bj-host-")));
  const root = join(outer, "host");
  const ready = (path: string): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  return {
    root,
    layer: join(outer, "layer"),
    file(path, mode = 0o644) {
      writeFileSync(ready(path), path);
      chmodSync(join(root, path), mode);
    },
    folder(path, mode = 0o755) {
      mkdirSync(ready(path), { recursive: true });
      chmodSync(join(root, path), mode);
    },
    link: (path, target) => symlinkSync(target, ready(path)),
    [Symbol.dispose]() {
      rmSync(outer, { recursive: true, force: true });
    },
  };
}

/** The paths of all files and links below a folder, sorted. */
export function pathsBelow(folder: string): readonly string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  return found.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).toSorted();
}

export function modeOf(path: string): number {
  return lstatSync(path).mode & 0o7777;
}

export function textOf(path: string): string {
  return readFileSync(path, "utf8");
}
