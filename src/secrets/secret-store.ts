/** Secrets by name, each owner's own. Nothing of a value comes out. */
export interface SecretVault {
  /** Makes it or replaces it. Rejects with `ARGUMENTS_INVALID` for a name or value that cannot be. */
  set(owner: string, name: string, value: string): Promise<void>;
  list(owner: string): Promise<readonly SecretInfo[]>;
  /** Rejects with `SECRET_NOT_FOUND`. */
  remove(owner: string, name: string): Promise<void>;
}

/** The vault as the host's proxy has it; values lie encrypted on disk. */
export interface SecretStore extends SecretVault {
  /** Undefined when there is none of that name. */
  reveal(owner: string, name: string): Promise<string | undefined>;
}

export interface SecretInfo {
  readonly name: string;
  readonly changedAt: Date;
}
