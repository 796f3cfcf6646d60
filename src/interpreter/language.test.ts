import { expect, it } from "vitest";
import type { Build } from "./language.ts";
import { LANGUAGES, findLanguage, languageOfFile } from "./language.ts";

/** A program with these files. The first is the entry. */
function buildOf(name: string, ...files: readonly string[]): Build {
  const language = findLanguage(name);
  const program = { language: name, code: "" };
  return { program, language, files: files.map((file) => ({ name: file, content: "" })), kernels: "/k", memoryBytes: 268_435_456 };
}

const compile = (build: Build) => build.language.compile?.(build);
const run = (build: Build) => build.language.run(build);

it("finds a language by its name and by each alias, in any case", () => {
  for (const language of LANGUAGES) {
    for (const name of [language.name, ...language.aliases]) expect(findLanguage(` ${name.toUpperCase()} `)).toBe(language);
  }
});

it("uses no name for two languages", () => {
  const names = LANGUAGES.flatMap(({ name, aliases }) => [name, ...aliases]);
  const extensions = LANGUAGES.flatMap((language) => language.extensions);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(extensions).size).toBe(extensions.length);
});

it("lists all languages if the name is unknown", () => {
  expect(() => findLanguage("cobol")).toThrowError(/Unknown language "cobol"; expected one of python, javascript,/);
});

it("finds a file's language by its extension", () => {
  expect(languageOfFile("a/b.PY")?.name).toBe("python");
  expect(languageOfFile("main.default.ts")?.name).toBe("typescript");
  expect(languageOfFile(".py")).toBeUndefined();
  expect(languageOfFile("Makefile")).toBeUndefined();
});

it("gives each language its own entry file", () => {
  for (const language of LANGUAGES) expect(languageOfFile(language.entryFile)).toBe(language);
});

it("compiles only the sources of the language", () => {
  const argv = compile(buildOf("c", "main.c", "util.c", "util.h", "data.txt"));
  expect(argv).toEqual(expect.arrayContaining(["main.c", "util.c"]));
  expect(argv).not.toContain("util.h");
});

it("never passes a file name as an option", () => {
  expect(run(buildOf("bash", "-c"))).toEqual(["bash", "./-c"]);
  expect(compile(buildOf("c", "main.c", "-o.c"))).toContain("./-o.c");
});

it("builds a Go module if there is one, else the files", () => {
  expect(compile(buildOf("go", "main.go", "go.mod"))?.at(-1)).toBe(".");
  expect(compile(buildOf("go", "main.go", "b.go"))?.slice(-2)).toEqual(["main.go", "b.go"]);
});

it("runs the Java compiler only if there are several files", () => {
  expect(compile(buildOf("java", "Main.java", "x.txt"))).toBeUndefined();
  const several = buildOf("java", "app/Main.java", "app/Util.java");
  expect(compile(several)?.[0]).toBe("javac");
  expect(run(several).at(-1)).toBe("app.Main");
});

it("gives the JVM half of the memory for its heap", () => {
  expect(run(buildOf("java", "Main.java"))).toContain("-Xmx128m");
});
