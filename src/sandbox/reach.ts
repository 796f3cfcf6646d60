import type { Principal, Project } from "./sandbox.ts";

/** What of a sandbox says whose it is. */
export interface Belonging {
  readonly owner: string;
  readonly project?: string | undefined;
  readonly defaultName?: string | undefined;
  readonly isHidden?: boolean | undefined;
}

/** Whether the principal may know that it exists. Every look at sandboxes asks this. One that is hidden only its maker's handle reaches. */
export function mayReach({ id, project }: Principal, sandbox: Belonging): boolean {
  return !sandbox.isHidden && sandbox.owner === id && (project === undefined || project.sees === "all" || isOfProject(project, sandbox));
}

/** A default sandbox is the project's by its name too: `mcp --sandbox NAME` gives several projects one sandbox. */
function isOfProject({ folder, defaultName }: Project, belongs: Omit<Belonging, "owner">): boolean {
  return belongs.project === folder || (defaultName !== undefined && belongs.defaultName === defaultName);
}

/** The same text for principals that may reach the same sandboxes. */
export function reachOf({ id, project }: Principal): string {
  return project === undefined || project.sees === "all" ? id : JSON.stringify([id, project.folder, project.defaultName ?? null]);
}
