/** A way from outside to one port of a sandbox. */
export interface PortLink {
  readonly sandbox: string;
  readonly port: number;
  /** `token`: only for who holds it; `public`: for all who reach the server. */
  readonly access: "token" | "public";
  /** 32 random bytes in base64url; absent when public. */
  readonly token?: string;
  readonly createdAt: Date;
}

/** A port that a program inside listens on, registered or not. */
export interface ListeningPort {
  readonly port: number;
  /** As `/proc/net` says it: `127.0.0.1`, `::`, ... */
  readonly address: string;
  readonly uid: number;
}
