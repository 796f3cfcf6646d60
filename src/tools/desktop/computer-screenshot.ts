import * as z from "zod";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { detectKind } from "../files/file-kind.ts";
import { IMAGE_MAX_BYTES } from "../files/read-image.ts";
import { computerTool } from "./computer-tool.ts";
import type { OpenDisplay } from "./on-display.ts";

const PNG = ["scrot", "--overwrite", "--pointer", "-"] as const;
/** scrot makes the picture that the name of its file asks for, and on its output PNG alone. */
const JPEG = [
  "sh",
  "-c",
  'file=$(mktemp --suffix=.jpg) && scrot --overwrite --pointer --quality 75 "$file" && cat "$file"; code=$?; rm -f "$file"; exit "$code"',
] as const;

export const computerScreenshot = computerTool({
  name: "computer_screenshot",
  title: "Take a picture of the desktop",
  description: "A picture of the desktop with the cursor. Coordinates of the other computer tools are its pixels.",
  fields: {},
  reads: true,
  value: z.object({ width: z.number().int(), height: z.number().int() }),
  async run(display) {
    const { bytes, mimeType } = await takePicture(display);
    const { width, height } = display;
    return textResult({ width, height }, [
      { type: "image", data: bytes.toString("base64"), mimeType },
      { type: "text", text: `[The desktop has ${width}x${height} pixels]` },
    ]);
  },
});

/** As PNG, or as JPEG where that would be more than models take. */
export async function takePicture(display: Pick<OpenDisplay, "picture">): Promise<{ readonly bytes: Buffer; readonly mimeType: string }> {
  for (const argv of [PNG, JPEG]) {
    const { stdout: bytes, truncated } = await display.picture(argv, IMAGE_MAX_BYTES);
    if (truncated) continue;
    const kind = detectKind(bytes);
    if (kind.kind === "image") return { bytes, mimeType: kind.mimeType };
    throw new BelljarError("ACTION_FAILED", "scrot gave no picture; look at the desktop with scrot and run_command");
  }
  throw new BelljarError("FILE_TOO_LARGE", `The picture has more than ${IMAGE_MAX_BYTES} bytes; start the desktop with a smaller size`);
}
