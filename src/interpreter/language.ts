import { BelljarError } from "../errors.ts";
import type { Limits } from "./program.ts";

/** One row of the table of languages: how a program in it is named, compiled and run. Arguments are argv, never a shell's text. */
export interface Language {
  /** What callers write, lower case. */
  readonly name: string;
  readonly title: string;
  readonly aliases: readonly string[];
  /** The first one is the default; all of them name the language of a file. */
  readonly extensions: readonly string[];
  readonly entryFile: string;
  /** The program that a template must have for this language. */
  readonly command: string;
  /** Argv of the first of two execs; undefined when this build needs none. */
  readonly compile?: (build: Build) => readonly string[] | undefined;
  readonly run: (build: Build) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What its tools cannot do without: raises the defaults, never a limit that the caller named. */
  readonly needs?: Limits;
}

/** One program as the table sees it. Paths are relative to the folder that everything lies and runs in, and safe as arguments. */
export interface Build {
  readonly entry: string;
  /** The entry and all other files. */
  readonly files: readonly string[];
  /** The folder inside the sandbox that holds Belljar's own small programs. */
  readonly kernels: string;
  readonly memoryBytes: number;
}

const MEBIBYTE = 1_048_576;
/** What compilers write, in the program's folder. */
const BINARY = "belljar-program";
const CLASSES = "belljar-classes";

export const LANGUAGES: readonly Language[] = [
  {
    name: "python",
    title: "Python",
    aliases: ["py", "python3"],
    extensions: [".py"],
    entryFile: "main.py",
    command: "python3",
    run: ({ entry }) => ["python3", entry],
    // A program that is cut short has shown what it printed.
    env: { PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" },
  },
  {
    name: "javascript",
    title: "JavaScript",
    aliases: ["js", "node", "nodejs", "mjs"],
    extensions: [".js", ".mjs", ".cjs"],
    entryFile: "main.js",
    command: "node",
    // A .js file may hold either module system; the warning about telling them apart by their syntax is not the program's.
    run: ({ entry }) => ["node", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", entry],
  },
  {
    name: "typescript",
    title: "TypeScript",
    aliases: ["ts"],
    extensions: [".ts", ".mts", ".cts", ".tsx"],
    entryFile: "main.ts",
    command: "node",
    run: ({ entry, kernels }) => ["node", "--disable-warning=ExperimentalWarning", `${kernels}/typescript.mjs`, entry],
  },
  {
    name: "bash",
    title: "Bash",
    aliases: ["sh", "shell"],
    extensions: [".sh", ".bash"],
    entryFile: "main.sh",
    command: "bash",
    run: ({ entry }) => ["bash", entry],
  },
  {
    name: "go",
    title: "Go",
    aliases: ["golang"],
    extensions: [".go"],
    entryFile: "main.go",
    command: "go",
    compile: ({ files }) => ["go", "build", "-p", "1", "-o", BINARY, ...(files.includes("go.mod") ? ["."] : sources(files, [".go"]))],
    run: () => [`./${BINARY}`],
    env: {
      GOCACHE: "/tmp/.belljar-go/cache",
      GOPATH: "/tmp/.belljar-go/path",
      GOFLAGS: "-mod=mod",
      GOTOOLCHAIN: "local",
      GOPROXY: "off",
      GOMAXPROCS: "1",
    },
    // Where Go comes without a compiled standard library, a first build compiles it: 191 MiB for the compiler, up to 60 for its cache, 20 s.
    needs: { memoryBytes: 512 * MEBIBYTE, cpus: 1 },
  },
  {
    name: "c",
    title: "C",
    aliases: [],
    extensions: [".c"],
    entryFile: "main.c",
    command: "cc",
    compile: ({ files }) => ["cc", "-O1", "-pthread", "-o", BINARY, ...sources(files, [".c"]), "-lm"],
    run: () => [`./${BINARY}`],
  },
  {
    name: "c++",
    title: "C++",
    aliases: ["cpp", "cxx", "cc"],
    extensions: [".cpp", ".cc", ".cxx"],
    entryFile: "main.cpp",
    command: "c++",
    compile: ({ files }) => ["c++", "-O1", "-pthread", "-o", BINARY, ...sources(files, [".cpp", ".cc", ".cxx"])],
    run: () => [`./${BINARY}`],
    // The compiler takes 295 MiB for one file that includes the whole standard library.
    needs: { memoryBytes: 512 * MEBIBYTE },
  },
  {
    name: "ruby",
    title: "Ruby",
    aliases: ["rb"],
    extensions: [".rb"],
    entryFile: "main.rb",
    command: "ruby",
    run: ({ entry }) => ["ruby", entry],
  },
  {
    name: "perl",
    title: "Perl",
    aliases: ["pl"],
    extensions: [".pl"],
    entryFile: "main.pl",
    command: "perl",
    run: ({ entry }) => ["perl", entry],
  },
  {
    name: "java",
    title: "Java",
    aliases: [],
    extensions: [".java"],
    entryFile: "Main.java",
    command: "java",
    // One file is compiled in memory by `java` itself; only several need a compiler's run of their own.
    compile: ({ files, memoryBytes }) =>
      sources(files, [".java"]).length < 2
        ? undefined
        : ["javac", ...javaMemory(memoryBytes).map((option) => `-J${option}`), "-d", CLASSES, ...sources(files, [".java"])],
    run: ({ entry, files, memoryBytes }) =>
      sources(files, [".java"]).length < 2
        ? ["java", ...javaMemory(memoryBytes), entry]
        : ["java", ...javaMemory(memoryBytes), "-cp", CLASSES, className(entry)],
  },
];

/** The language of that name or alias. Rejects an unknown one with `LANGUAGE_UNAVAILABLE`, naming all. */
export function findLanguage(name: string): Language {
  const wanted = name.trim().toLowerCase();
  const found = LANGUAGES.find((language) => language.name === wanted || language.aliases.includes(wanted));
  if (found) return found;
  const known = LANGUAGES.map((language) => language.name).join(", ");
  throw new BelljarError("LANGUAGE_UNAVAILABLE", `Unknown language "${name.slice(0, 40)}"; expected one of ${known}`);
}

/** The language that a file's name stands for, if its extension is known. */
export function languageOfFile(name: string): Language | undefined {
  return LANGUAGES.find((language) => hasExtension(name, language.extensions));
}

function sources(files: readonly string[], extensions: readonly string[]): string[] {
  return files.filter((file) => hasExtension(file, extensions));
}

function hasExtension(name: string, extensions: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return extensions.some((extension) => lower.endsWith(extension) && lower.length > extension.length);
}

/** The JVM sees no control group from inside, so it is told: half for the heap, small stores, one collector thread. */
function javaMemory(memoryBytes: number): string[] {
  const heap = Math.max(32, Math.floor(memoryBytes / 2 / MEBIBYTE));
  return ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=32m", "-Xshare:auto", `-Xmx${heap}m`];
}

function className(entry: string): string {
  return entry
    .replace(/^\.\//, "")
    .replace(/\.java$/i, "")
    .replaceAll("/", ".");
}
