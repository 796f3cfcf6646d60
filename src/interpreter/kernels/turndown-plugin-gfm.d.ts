declare module "@joplin/turndown-plugin-gfm" {
  import type TurndownService from "turndown";

  /** GitHub's tables, struck-out text and task lists. */
  export const gfm: TurndownService.Plugin;
}
