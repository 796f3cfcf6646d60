import type { Tool } from "../../catalog/tool.ts";
import type { PortUrls } from "../ports/port-urls.ts";
import { computerKey, computerType } from "./computer-keyboard.ts";
import { computerClick, computerCursor, computerDrag, computerScroll } from "./computer-mouse.ts";
import { computerScreenshot } from "./computer-screenshot.ts";
import { createDesktopStart } from "./desktop-start.ts";

/** `urls` absent: a desktop starts without links. */
export function desktopTools(urls: PortUrls | undefined): readonly Tool[] {
  return [
    createDesktopStart(urls),
    computerScreenshot,
    computerClick,
    computerType,
    computerKey,
    computerScroll,
    computerDrag,
    computerCursor,
  ];
}
