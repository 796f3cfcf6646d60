/** A flag that Chromium is started with, and why. */
export interface Flag {
  readonly flag: string;
  readonly reason: string;
}

export const FLAGS: readonly Flag[] = [
  {
    flag: "--no-sandbox",
    reason: "its own sandbox needs user namespaces, which a sandbox of Belljar's does not give; that one stands around it",
  },
];
