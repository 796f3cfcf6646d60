import type { Tool } from "../../catalog/tool.ts";
import type { WebSearch } from "./web-search.ts";
import { createWebSearch } from "./web-search.ts";
import type { WebVisitOptions } from "./web-visit.ts";
import { createWebVisit } from "./web-visit.ts";

export interface WebToolsOptions extends WebVisitOptions {
  /** Absent: nobody can search. */
  readonly search?: WebSearch;
}

/** The tools that read the web, from inside the caller's sandbox, or through the caller's own tool server. */
export function webTools({ search, ...visit }: WebToolsOptions = {}): readonly Tool[] {
  return [createWebVisit(visit), ...(search ? [createWebSearch(search)] : [])];
}
