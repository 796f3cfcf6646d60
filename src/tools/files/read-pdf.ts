import type { TextResult } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { InnerProgram, ProgramEnd } from "../inner-program.ts";
import { openInnerProgram } from "../inner-program.ts";
import { toAbsolute } from "../sandbox-path.ts";
import { IMAGE_MAX_BYTES, imageResult } from "./read-image.ts";
import type { LineRange, LineSlice } from "./read-lines.ts";
import { readLines } from "./read-lines.ts";

const TIMEOUT_MS = 60_000;
/** Models make larger pictures smaller. */
const LONG_SIDE_PIXELS = 1_400;

export interface PdfFile {
  readonly sandbox: Sandbox;
  readonly path: string;
  readonly signal: AbortSignal;
}

export interface PdfText {
  readonly text: string;
  readonly slice: LineSlice;
}

/** Undefined where the sandbox has no `pdftotext`. Rejects with `FILE_NOT_TEXT` if it fails. */
export async function readPdfText(file: PdfFile, lines: Omit<LineRange, "wholeLines">): Promise<PdfText | undefined> {
  await using program = await openPdfProgram(file, "pdftotext", ["-layout", "-enc", "UTF-8", toAbsolute(file.sandbox, file.path), "-"]);
  if (!program) return undefined;
  const slice = await readLines(program.stdout, { ...lines, wholeLines: true });
  if (slice.totalLines !== undefined) assertRead(`The PDF "${file.path}" gives no text`, "pdftotext", await program.ended());
  return { text: slice.bytes.toString("utf8"), slice };
}

/** The page as a picture. Undefined where the sandbox has no `pdftoppm`. Rejects with `FILE_NOT_TEXT` if it fails, as for a page that there is not. */
export async function drawPdfPage(file: PdfFile, page: number): Promise<TextResult | undefined> {
  const pages = ["-f", String(page), "-l", String(page), "-singlefile"];
  const args = ["-jpeg", ...pages, "-scale-to", String(LONG_SIDE_PIXELS), toAbsolute(file.sandbox, file.path)];
  await using program = await openPdfProgram(file, "pdftoppm", args);
  if (!program) return undefined;
  const picture = await readPicture(program, file);
  assertRead(`Page ${page} of the PDF "${file.path}" gives no picture`, "pdftoppm", await program.ended());
  return imageResult({
    path: toAbsolute(file.sandbox, file.path),
    what: `page ${page} as image/jpeg`,
    mimeType: "image/jpeg",
    bytes: picture,
  });
}

function openPdfProgram({ sandbox, signal }: PdfFile, program: string, args: readonly string[]): Promise<InnerProgram | undefined> {
  return openInnerProgram(sandbox, { programs: [program], args, timeoutMs: TIMEOUT_MS, signal });
}

async function readPicture({ stdout }: InnerProgram, { path }: PdfFile): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdout) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > IMAGE_MAX_BYTES) throw new BelljarError("FILE_TOO_LARGE", `The picture of "${path}" has over ${IMAGE_MAX_BYTES} bytes`);
  }
  return Buffer.concat(chunks);
}

function assertRead(problem: string, program: string, { exitCode, timedOut, stderr, usedUp }: ProgramEnd): void {
  if (exitCode === 0) return;
  const reason = timedOut ? `${program} took longer than ${TIMEOUT_MS} ms` : stderr.trim() || `${program} failed`;
  throw new BelljarError("FILE_NOT_TEXT", `${problem}: ${[reason, ...usedUp].join(", and ")}`);
}
