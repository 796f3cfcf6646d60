import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { build } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";
import bundles from "../../src/interpreter/kernels/bundles.json" with { type: "json" };

/** The kernels as a sandbox sees them: one file each, with nothing beside them. */
let kernels = "";

beforeAll(async () => {
  kernels = await mkdtemp(join(tmpdir(), "belljar-kernels-"));
  for (const { entry, out } of bundles.filter((each) => each.entry.endsWith(".ts")))
    await bundle(resolve(import.meta.dirname, "../../src/interpreter/kernels", entry), out);
});
afterAll(() => rm(kernels, { recursive: true }));

async function bundle(entry: string, out: string): Promise<void> {
  await build({
    configFile: false,
    logLevel: "warn",
    ssr: { noExternal: true },
    build: { ssr: entry, outDir: kernels, emptyOutDir: false, rolldownOptions: { output: { format: "es", entryFileNames: out } } },
  });
}

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

async function run(files: Readonly<Record<string, string>>, ...args: string[]): Promise<Outcome> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "belljar-typescript-")));
  try {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const argv = ["--disable-warning=ExperimentalWarning", join(kernels, "typescript.mjs"), Object.keys(files)[0] ?? "", ...args];
    return await new Promise((done) => {
      const child = execFile(process.execPath, argv, { cwd: folder }, (_error, stdout, stderr) =>
        done({ stdout, stderr, code: child.exitCode ?? -1 }),
      );
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

it("runs what TypeScript adds to JavaScript", async () => {
  const code = [
    "enum Color { Red = 1, Green }",
    "class Point { constructor(private readonly x: number) {} get(): number { return this.x; } }",
    "interface Shape { readonly side: number }",
    "const shape = { side: 2 } satisfies Shape;",
    "const first = <T,>(list: readonly T[]): T => list[0]!;",
    "console.log(Color[2], new Point(3).get(), shape.side as number, first(['a']));",
  ].join("\n");
  expect(await run({ "main.ts": code })).toEqual({ stdout: "Green 3 2 a\n", stderr: "", code: 0 });
});

it.each(["./lib/util.ts", "./lib/util.js", "./lib/util", "./lib"])("finds a TypeScript file that is imported as %s", async (specifier) => {
  const files = {
    "main.ts": `import { double, type Num } from "${specifier}";\nconst n: Num = 2;\nconsole.log(double(n));`,
    "lib/util.ts": "export type Num = number;\nexport const double = (n: Num): Num => n * 2;",
    "lib/index.ts": 'export * from "./util.js";',
  };
  expect(await run(files)).toMatchObject({ stdout: "4\n", stderr: "" });
});

it("imports JavaScript, JSON and Node's own modules beside TypeScript", async () => {
  const files = {
    "main.ts":
      'import { a } from "./a.js";\nimport data from "./data.json";\nimport { sep } from "node:path";\nimport type { Gone } from "./gone";\nconsole.log(a, data.b, sep);',
    "a.js": "export const a = 1;",
    "data.json": '{"b":2}',
  };
  expect(await run(files)).toMatchObject({ stdout: "1 2 /\n", stderr: "" });
});

it("waits at the top level, and gives the program its own arguments", async () => {
  const code =
    "const args = await Promise.resolve(process.argv.slice(2));\nconsole.log(args, process.argv[1] === new URL(import.meta.url).pathname);";
  expect(await run({ "main.ts": code }, "-a", "b c")).toMatchObject({ stdout: "[ '-a', 'b c' ] true\n" });
});

it("runs a program that was written for require", async () => {
  const code = 'const path = require("node:path");\nconst sep: string = path.sep;\nif (require.main === module) console.log(sep);';
  expect(await run({ "main.ts": code })).toMatchObject({ stdout: "/\n", stderr: "" });
});

it("names the author's file and line when a program fails", async () => {
  const code = "interface A { a: number }\n\nfunction fail(a: A): never { throw new Error('boom'); }\nfail({ a: 1 });";
  const { stderr, code: exitCode } = await run({ "main.ts": code });
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/Error: boom\n {4}at fail \(.*main\.ts:3:/);
});

it("says where the syntax is wrong, without the transpiler's own stack", async () => {
  const { stderr, code } = await run({ "main.ts": "const a: number = 1;\nconst b: = 2;" });
  expect(code).toBe(1);
  expect(stderr).toContain("main.ts: Unexpected token (2:10)");
  expect(stderr).not.toContain("typescript-hooks");
});

it("ends with the program's exit code", async () => {
  expect(await run({ "main.ts": "process.exit(7 as number);" })).toMatchObject({ code: 7 });
});

it("runs TypeScript with markup", async () => {
  const code =
    "const React = { createElement: (tag: string, _props: unknown, text: string): string => `${tag}:${text}` };\nconsole.log(<b>hi</b>);";
  expect(await run({ "main.tsx": code })).toMatchObject({ stdout: "b:hi\n" });
});
