import { changes, reads } from "../../auth/access.ts";

const ALL_OF_A_SANDBOX = ["toolset:sandbox", "toolset:shell", "toolset:files", "toolset:code"] as const;
/** The same, as grants have them. */
export const NEEDED = ALL_OF_A_SANDBOX.map((scope) => scope.slice("toolset:".length));

/** What comes with a sandbox is a token for its files, processes and code: no narrower key gets one here. */
export const CHANGES = changes(...ALL_OF_A_SANDBOX);
/** Answers that tell no tokens. */
export const READS = reads("toolset:sandbox");
/** Answers that tell a sandbox's tokens, with which it is changed. */
export const READS_TOKENS = changes(...ALL_OF_A_SANDBOX);
