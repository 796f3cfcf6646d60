import { writeFile } from "node:fs/promises";
import type { PdfArgs, PdfValue } from "../../actions/pdf.ts";
import { PDF_MAX_BYTES } from "../../actions/pdf-limits.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import { assertNoDialog, reasoned } from "./act.ts";
import { toFileError } from "./upload-file.ts";

export const pdf = defineHandler<PdfArgs, PdfValue>({
  name: "pdf",
  mayLinger: true,
  async run(tab, { path, landscape = false }, { signal }) {
    assertNoDialog(tab);
    const bytes = await reasoned(() => tab.page.pdf({ landscape, printBackground: true }));
    if (bytes.length > PDF_MAX_BYTES)
      throw new DriverError("FILE_TOO_LARGE", `The PDF has ${bytes.length} bytes, at most ${PDF_MAX_BYTES} are written`);
    signal.throwIfAborted();
    try {
      await writeFile(path, bytes, { signal });
    } catch (error) {
      throw toFileError(error, path);
    }
    return { value: { path, bytes: bytes.length } };
  },
});
