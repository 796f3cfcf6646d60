import * as z from "zod";
import { pathArgument } from "../sandbox-path.ts";

export const NPM_TIMEOUT_MS = 600_000;

export const packageFolderArgument = () => pathArgument("Folder with the package.json; default the workspace").optional();

export const npmTimeoutArgument = () =>
  z.number().int().min(1).max(3_600_000).optional().describe("npm is killed after so long; default 10 minutes, at most an hour");

/** What npm would take for an option of its own begins with a dash. */
const word = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    // oxlint-disable-next-line no-control-regex
    .regex(/^[^-\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*$/, "must not begin with a dash or hold control characters");

export const scriptArgument = () => word(250).describe("Name of a script of the package.json");

export const packagesArgument = () =>
  z
    .array(word(2_048))
    .min(1)
    .max(200)
    .optional()
    .describe('Packages to add, as "zod", "zod@4", "./folder"; absent: what the package.json and its lock file say');

export const scriptArgumentsArgument = () =>
  z
    .array(
      z
        .string()
        .max(65_536)
        .regex(/^[^\0]*$/, "must not hold a NUL byte"),
    )
    .max(1_000)
    .optional()
    .describe("Given to the script as they stand");
