import type { LastStop, SandboxInfo } from "../sandbox/sandbox.ts";

type EndReason = NonNullable<SandboxInfo["endReason"]>;

const REASONS: Readonly<Record<EndReason, string>> = {
  deadline: "nobody was connected or used it until its deadline",
  killed: "it was killed",
  out_of_memory: "its memory was used up",
  exited: "its processes ended by themselves",
  keeper_lost: "the process that kept it was killed",
  host_lost: "the machine was restarted",
  stopped: "it was stopped, and then deleted",
  create_failed: "it could not be made",
  expired: "it was stopped, and nobody used it as long as stopped sandboxes are kept",
  no_room: "it was stopped, and removed to make room for others that were stopped later",
  files_lost: "it was stopped, and its files lay in memory, which the machine has lost",
};

/** Says to a model what is lost with its earlier default sandbox, why, and since when. `earlier`: absent if nothing is known of it. */
export function tellLoss(earlier: Pick<SandboxInfo, "endReason" | "endedAt" | "workspace"> | undefined): string {
  return `Note: this is a new sandbox. The earlier one ended${whenAndWhy(earlier)}. ${whatIsLost(earlier?.workspace)}`;
}

const STOPS: Readonly<Partial<Record<EndReason, string>>> = { stopped: "somebody stopped it" };

/** Says to a model what ended when its sandbox was stopped, why, and since when. */
export function tellStop({ reason, at, point }: LastStop): string {
  const why = STOPS[reason] ?? REASONS[reason];
  const ended = "its processes and servers ended, and the variables of shells and run_code are gone";
  if (point !== undefined) return `Note: this sandbox was put back to ${point}${timeOf(at)}. Its files are those of that point; ${ended}.`;
  return `Note: this sandbox was stopped${timeOf(at)} (${why}), and runs again. Its files are as they were; ${ended}.`;
}

function timeOf(at: Date): string {
  return ` at ${at.toISOString().replace(/\.\d+Z$/, "Z")}`;
}

function whenAndWhy({ endReason, endedAt }: Pick<SandboxInfo, "endReason" | "endedAt"> = {}): string {
  const when = endedAt ? timeOf(endedAt) : "";
  return endReason ? `${when}: ${REASONS[endReason]}` : when;
}

function whatIsLost(workspace: SandboxInfo["workspace"]): string {
  const rest = "its processes, variables of shells, installed packages and files are gone";
  if (!workspace) return `All of it is lost: ${rest}.`;
  const { path, mode } = workspace;
  if (mode === "copy") return `All of it is lost: ${rest}, with all changes to its copy of ${path} that were not applied.`;
  return `What lies in ${path} is still there. All else is lost: ${rest}.`;
}
