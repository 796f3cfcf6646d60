import { INSIDE } from "../../sandbox/sandbox.ts";
import type { GitFolder } from "./run-git.ts";
import { LINE_BYTES, runGit } from "./run-git.ts";

export interface Identity {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** Who commits, as variables: what is configured stands, a name that nobody gave is filled in, and an author that is given is one. */
export async function identityVariables(place: GitFolder, author: Identity): Promise<Record<string, string>> {
  const [name, email] = await Promise.all([readSetting(place, "user.name"), readSetting(place, "user.email")]);
  return {
    ...(name === "" && { GIT_AUTHOR_NAME: INSIDE.committer, GIT_COMMITTER_NAME: INSIDE.committer }),
    ...(email === "" && { GIT_AUTHOR_EMAIL: INSIDE.committerEmail, GIT_COMMITTER_EMAIL: INSIDE.committerEmail }),
    ...(author.name !== undefined && { GIT_AUTHOR_NAME: author.name }),
    ...(author.email !== undefined && { GIT_AUTHOR_EMAIL: author.email }),
  };
}

/** Exit code 1: there is no such setting. */
async function readSetting(place: GitFolder, name: string): Promise<string> {
  const { stdout } = await runGit(place, ["config", "--get", name], { accept: [0, 1], maxOutputBytes: LINE_BYTES });
  return stdout.trim();
}
