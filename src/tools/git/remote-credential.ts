import type { Credential } from "./git-credential.ts";
import { credentialSettings } from "./git-credential.ts";
import type { GitFolder, GitSettings } from "./run-git.ts";
import { LINE_BYTES, READ_ONLY, runGit } from "./run-git.ts";

export interface RemoteUse {
  readonly remote: string;
  readonly credential: Credential | undefined;
  readonly isPush: boolean;
}

/** The settings for a remote of the repository, whose address git itself tells. */
export async function remoteSettings(place: GitFolder, { remote, credential, isPush }: RemoteUse): Promise<GitSettings> {
  if (!credential) return {};
  const { stdout } = await runGit(place, ["remote", "get-url", ...(isPush ? ["--push"] : []), "--", remote], {
    ...READ_ONLY,
    maxOutputBytes: LINE_BYTES,
  });
  return credentialSettings(stdout.trim(), credential);
}
