import type { Tool } from "../../catalog/tool.ts";
import { gitAdd } from "./git-add.ts";
import { gitBranch } from "./git-branch.ts";
import { gitCheckout } from "./git-checkout.ts";
import { gitClone } from "./git-clone.ts";
import { gitCommit } from "./git-commit.ts";
import { gitDiff } from "./git-diff.ts";
import { gitLog } from "./git-log.ts";
import { gitPull } from "./git-pull.ts";
import { gitPush } from "./git-push.ts";
import { gitStatus } from "./git-status.ts";

/** git with structured answers, for callers that would else read what it prints. */
export const gitTools: readonly Tool[] = [
  gitStatus,
  gitDiff,
  gitLog,
  gitAdd,
  gitCommit,
  gitBranch,
  gitCheckout,
  gitClone,
  gitPush,
  gitPull,
];
