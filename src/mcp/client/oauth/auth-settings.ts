/** How a server over HTTP wants to be told who calls. Headers of the entry are not named here. */
export interface OAuthSettings {
  /** True if the entry asks for OAuth. Else it is used if the server wants it and no header is configured. */
  readonly isAsked: boolean;
  /** A client that was registered by hand. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** The address of a client's description, which is its id for servers that know these. */
  readonly clientDocument?: string | undefined;
  /** Separated by spaces. */
  readonly scope?: string | undefined;
  /** The port that the browser comes back to, for a client that was registered with one. */
  readonly callbackPort?: number | undefined;
}
