/** Secrets by name, separate for each owner. It never reveals a value. */
export interface SecretVault {
  /** Creates or replaces a secret. Rejects with `ARGUMENTS_INVALID` for a name or value that breaks the rules. */
  set(owner: string, name: string, value: string): Promise<void>;
  list(owner: string): Promise<readonly SecretInfo[]>;
  /** Rejects with `SECRET_NOT_FOUND`. */
  remove(owner: string, name: string): Promise<void>;
}

/** What a secret's owner has noted of it. It is no secret itself. */
export interface SecretNotes {
  readonly metadata: Readonly<Record<string, string>>;
}

/** A secret with all that is known of it but its value. */
export interface SecretDetail extends SecretInfo, SecretNotes {
  /** How often it has had a value. */
  readonly version: number;
  readonly createdAt: Date;
}

/** A vault that tells more of its secrets. On `$BELLJAR_HOME` alone. */
export interface NotedVault extends SecretVault {
  /** As `set`. Absent notes stay as they were. `isNew`: rejects with `SECRET_NAME_TAKEN` if there is one. */
  note(owner: string, name: string, secret: NewSecret): Promise<SecretDetail>;
  details(owner: string): Promise<readonly SecretDetail[]>;
}

export interface NewSecret extends Partial<SecretNotes> {
  readonly value: string;
  readonly isNew?: boolean;
}

/** A vault that also reveals values, for the proxy on the host. The values are encrypted on disk. */
export interface SecretStore extends NotedVault {
  /** Undefined if the owner has no secret of that name. */
  reveal(owner: string, name: string): Promise<string | undefined>;
}

export interface SecretInfo {
  readonly name: string;
  readonly changedAt: Date;
}
