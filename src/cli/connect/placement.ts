export interface Placement {
  /** The host's file with the server in it; undefined when it stands there so already. */
  readonly text: string | undefined;
}
