import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const FOLDER = join(import.meta.dirname, "../../docs/decisions");

it("numbers the decisions without a gap, each once, in the name and in the title", () => {
  const files = readdirSync(FOLDER).toSorted();
  const titles = files.map((file) => readFileSync(join(FOLDER, file), "utf8").split("\n")[0] ?? "");
  expect(files.map((file) => Number(file.slice(0, 4)))).toEqual(files.map((_, index) => index + 1));
  expect(titles.map((title) => Number(/^# (\d+)\. /.exec(title)?.[1]))).toEqual(files.map((_, index) => index + 1));
});
