/** Secrets by name, separate for each owner. It never reveals a value. */
export interface SecretVault {
  /** Creates or replaces a secret. Rejects with `ARGUMENTS_INVALID` for a name or value that breaks the rules. */
  set(owner: string, name: string, value: string): Promise<void>;
  list(owner: string): Promise<readonly SecretInfo[]>;
  /** Rejects with `SECRET_NOT_FOUND`. */
  remove(owner: string, name: string): Promise<void>;
}

/** A vault that also reveals values, for the proxy on the host. The values are encrypted on disk. */
export interface SecretStore extends SecretVault {
  /** Undefined if the owner has no secret of that name. */
  reveal(owner: string, name: string): Promise<string | undefined>;
}

export interface SecretInfo {
  readonly name: string;
  readonly changedAt: Date;
}
