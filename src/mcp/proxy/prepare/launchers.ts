import type { Installer } from "../../../packages/requirements.ts";

/** A command of hosts that installs a package and starts a program of it. */
export interface Launcher {
  readonly installer: Installer;
  /** The command, and the arguments that belong to it. */
  readonly words: readonly string[];
  /** Options that change nothing in a sandbox. */
  readonly ignored: readonly string[];
  /** Options whose value is a package. With one the first argument is a program of it. */
  readonly packages: readonly string[];
  /** Options whose value is a package to install beside. */
  readonly beside: readonly string[];
  /** It takes options behind the package too, up to `--`. */
  readonly takesLateOptions?: true;
}

const NPM = {
  installer: "npm",
  ignored: ["-y", "--yes", "-q", "--quiet", "-s", "--silent", "--prefer-offline", "--prefer-online"],
  packages: ["-p", "--package"],
  beside: [],
} as const;
const BUN = { ...NPM, ignored: ["--silent", "-y", "--yes"] } as const;
const PNPM = { ...NPM, ignored: ["-s", "--silent"], packages: ["--package"] } as const;
const UV = {
  installer: "pip",
  ignored: ["-q", "--quiet", "--isolated", "--refresh", "-n", "--no-cache", "--no-progress", "--no-config", "-U", "--upgrade"],
  packages: ["--from"],
  beside: ["--with"],
} as const;

/** The longer of two that begin alike comes first. */
export const LAUNCHERS: readonly Launcher[] = [
  { ...NPM, words: ["npx"] },
  { ...NPM, words: ["npm", "exec"], takesLateOptions: true },
  { ...NPM, words: ["npm", "x"], takesLateOptions: true },
  { ...PNPM, words: ["pnpm", "dlx"] },
  { ...PNPM, words: ["pnpx"] },
  { ...BUN, words: ["bunx"] },
  { ...BUN, words: ["bun", "x"] },
  { ...UV, words: ["uvx"] },
  { ...UV, words: ["uv", "tool", "run"] },
];
