import * as z from "zod";

export const LOCK_BYTES_MAX = 2 ** 21;

/** Which packages were installed. They are installed again as they were. */
export interface PackageLock {
  /** What was asked, and from which index, as a hash. */
  readonly wish: string;
  /** Of the owner, the index and the packages: who has the same shares what is installed. */
  readonly key: string;
  readonly installer: "pip" | "npm";
  /** Of pip a line for each package, with its hash; of npm the `package-lock.json`. */
  readonly text: string;
  readonly mayBuild?: boolean;
}

const hash = z.string().regex(/^[0-9a-f]{40}$/);

/** Of a lock on disk. */
export const packageLockSchema = z.strictObject({
  wish: hash,
  key: hash,
  installer: z.enum(["pip", "npm"]),
  text: z.string().max(LOCK_BYTES_MAX),
  mayBuild: z.boolean().optional(),
}) satisfies z.ZodType<PackageLock>;
