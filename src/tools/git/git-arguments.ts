import * as z from "zod";
import { pathArgument } from "../sandbox-path.ts";

export const repositoryArgument = () => pathArgument("Folder of the repository, or any folder in it; default the workspace").optional();

/** Names of files and folders, never patterns: git is told to take them literally. */
export const pathsArgument = (description: string) =>
  z.array(pathArgument("A file or folder")).min(1).max(1_000).describe(`${description}. Each is taken literally, relative to path`);

/** A branch or tag as git's own rules have it; whatever begins with a dash would be an option. */
export const branchArgument = (description: string) =>
  z
    .string()
    .min(1)
    .max(250)
    .refine(isRefName, "is no name of a branch: no leading dash or dot, no spaces, control characters, .., ~ ^ : ? * [ \\ or @{")
    .describe(description);

export const revisionArgument = (description: string) =>
  z
    .string()
    .min(1)
    .max(250)
    // oxlint-disable-next-line no-control-regex
    .regex(/^[^-\s\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$/, "is no revision: it must not begin with a dash or hold control characters")
    .describe(description);

export const remoteArgument = () =>
  z
    .string()
    .max(100)
    .regex(/^[A-Za-z0-9_][A-Za-z0-9._/-]*$/, 'must be the name of a remote, as "origin"')
    .optional()
    .describe('Name of the remote; default "origin"');

export const networkTimeoutArgument = () =>
  z.number().int().min(1).max(3_600_000).optional().describe("git is stopped after so long; default 10 minutes, at most an hour");

export const NETWORK_TIMEOUT_MS = 600_000;

function isRefName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|[/.]$|\.lock$|\/\.|^@$/.test(name)) return false;
  return name !== "HEAD";
}
