/**
 * Folders of the host that several sandboxes write to at once, each in `tree` in a folder of its own. No link in one leads a sandbox out of its own
 * files; whoever reads one on the host follows none. Their ids are those inside, whichever sandbox wrote, where the host has ids for them.
 */
export interface SharedFolders {
  /** Makes `folder/tree`, empty, of the user inside. `folder` exists and is this one's alone. */
  make(folder: string): Promise<void>;
  /** Removes `folder/tree` with all in it, whoever's it is, and follows no link. One that is gone is no error. */
  remove(folder: string): Promise<void>;
  /** How much room `folder/tree` takes, as far as that can be read within a minute. 0 if it is gone. Rejects with `RUNTIME_FAILED`. */
  measure(folder: string): Promise<number>;
  /** What the host has for ids inside. Undefined: nobody of this process may have files with these. */
  toHost(ids: FileIds): FileIds | undefined;
  /** The way back. Ids that no sandbox can have are those of `nobody`. */
  toInside(ids: FileIds): FileIds;
}

export interface FileIds {
  readonly uid: number;
  readonly gid: number;
}
