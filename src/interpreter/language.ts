import { BelljarError } from "../errors.ts";
import type { Limits, Program, ProgramFile } from "./program.ts";

/** One row of the table of languages: how its programs are named, compiled and run. Commands are argv arrays, never shell text. */
export interface Language {
  /** The name that callers use, in lower case. */
  readonly name: string;
  readonly title: string;
  readonly aliases: readonly string[];
  /** Each extension identifies the language of a file. The first is the default. */
  readonly extensions: readonly string[];
  readonly entryFile: string;
  /** The program that a template must have for this language. */
  readonly command: string;
  /** The package of Debian and Ubuntu that brings it, where that is known. */
  readonly debianPackage?: string;
  /** What fresh sandboxes for its programs start from. Absent: as every sandbox. */
  readonly template?: string;
  /** Argv of the compiler, which runs before the program. Returns undefined if this build needs no compiler. */
  readonly compile?: (build: Build) => readonly string[] | undefined;
  readonly run: (build: Build) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Minimum limits of its tools. They raise default limits, but never a limit that the caller named. */
  readonly needs?: Limits;
}

/** A program that is ready to run: its language, its folder, and the input of the table's functions. */
export interface Build {
  readonly program: Program;
  readonly language: Language;
  /** The entry and all other files. Their names are relative to the program's folder, where the program runs. */
  readonly files: readonly ProgramFile[];
  /** The folder of the program's files, where it is compiled. Absent: the user's home. */
  readonly folder?: string;
  /** Folder where it runs. Absent: `folder`. */
  readonly cwd?: string;
  /** Folder for the output of compilers, absolute. Absent: `folder`. */
  readonly outputFolder?: string;
  /** Folder inside the sandbox with Belljar's own programs. */
  readonly kernels: string;
  readonly memoryBytes: number;
}

const MEBIBYTE = 1_048_576;
/** Output of compilers. */
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
    debianPackage: "python3",
    run: (build) => ["python3", entryOf(build)],
    // Unbuffered, so that the output of a killed program is complete.
    env: { PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" },
  },
  {
    name: "javascript",
    title: "JavaScript",
    aliases: ["js", "node", "nodejs", "mjs"],
    extensions: [".js", ".mjs", ".cjs"],
    entryFile: "main.js",
    command: "node",
    debianPackage: "nodejs",
    // A .js file may use either module system. Node's warning about guessing it is not part of the program's output.
    run: (build) => ["node", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", entryOf(build)],
  },
  {
    name: "typescript",
    title: "TypeScript",
    aliases: ["ts"],
    extensions: [".ts", ".mts", ".cts", ".tsx"],
    entryFile: "main.ts",
    command: "node",
    debianPackage: "nodejs",
    run: (build) => ["node", "--disable-warning=ExperimentalWarning", `${build.kernels}/typescript.mjs`, entryOf(build)],
  },
  {
    name: "bash",
    title: "Bash",
    aliases: ["sh", "shell"],
    extensions: [".sh", ".bash"],
    entryFile: "main.sh",
    command: "bash",
    debianPackage: "bash",
    run: (build) => ["bash", entryOf(build)],
  },
  {
    name: "go",
    title: "Go",
    aliases: ["golang"],
    extensions: [".go"],
    entryFile: "main.go",
    command: "go",
    debianPackage: "golang-go",
    compile: (build) => [
      "go",
      "build",
      "-p",
      "1",
      "-o",
      outputOf(build, BINARY),
      ...(namesOf(build).includes("go.mod") ? ["."] : sources(build, [".go"])),
    ],
    run: (build) => [outputOf(build, `./${BINARY}`)],
    env: {
      GOCACHE: "/tmp/.belljar-go/cache",
      GOPATH: "/tmp/.belljar-go/path",
      GOFLAGS: "-mod=mod",
      GOTOOLCHAIN: "local",
      GOPROXY: "off",
      GOMAXPROCS: "1",
    },
    // If Go has no compiled standard library, the first build compiles it. That takes 191 MiB, up to 60 MiB for the cache, and 20 s.
    needs: { memoryBytes: 512 * MEBIBYTE, cpus: 1 },
  },
  {
    name: "c",
    title: "C",
    aliases: [],
    extensions: [".c"],
    entryFile: "main.c",
    command: "cc",
    debianPackage: "gcc",
    compile: (build) => ["cc", "-O1", "-pthread", "-o", outputOf(build, BINARY), ...sources(build, [".c"]), "-lm"],
    run: (build) => [outputOf(build, `./${BINARY}`)],
  },
  {
    name: "c++",
    title: "C++",
    aliases: ["cpp", "cxx", "cc"],
    extensions: [".cpp", ".cc", ".cxx"],
    entryFile: "main.cpp",
    command: "c++",
    debianPackage: "g++",
    compile: (build) => ["c++", "-O1", "-pthread", "-o", outputOf(build, BINARY), ...sources(build, [".cpp", ".cc", ".cxx"])],
    run: (build) => [outputOf(build, `./${BINARY}`)],
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
    debianPackage: "ruby",
    run: (build) => ["ruby", entryOf(build)],
  },
  {
    name: "perl",
    title: "Perl",
    aliases: ["pl"],
    extensions: [".pl"],
    entryFile: "main.pl",
    command: "perl",
    debianPackage: "perl",
    run: (build) => ["perl", entryOf(build)],
  },
  {
    name: "java",
    title: "Java",
    aliases: [],
    extensions: [".java"],
    entryFile: "Main.java",
    command: "java",
    debianPackage: "default-jdk-headless",
    // `java` itself compiles a single file in memory. Several files need a run of the compiler.
    compile: (build) =>
      sources(build, [".java"]).length < 2
        ? undefined
        : ["javac", ...javaMemory(build).map((option) => `-J${option}`), "-d", outputOf(build, CLASSES), ...sources(build, [".java"])],
    run: (build) =>
      sources(build, [".java"]).length < 2
        ? ["java", ...javaMemory(build), entryOf(build)]
        : ["java", ...javaMemory(build), "-cp", outputOf(build, CLASSES), className(namesOf(build)[0] ?? "")],
  },
];

/** Finds a language by its name or alias. Throws `LANGUAGE_UNAVAILABLE` for an unknown language, and lists all languages. */
export function findLanguage(name: string, languages: readonly Language[] = LANGUAGES): Language {
  const wanted = name.trim().toLowerCase();
  const found = languages.find((language) => language.name === wanted || language.aliases.includes(wanted));
  if (found) return found;
  const known = languages.map((language) => language.name).join(", ");
  throw new BelljarError("LANGUAGE_UNAVAILABLE", `Unknown language "${name.slice(0, 40)}"; expected one of ${known}`);
}

/** Returns the language of a file by its extension, or undefined if the extension is unknown. Of several the first. */
export function languageOfFile(name: string, languages: readonly Language[] = LANGUAGES): Language | undefined {
  return languages.find((language) => hasExtension(name, language.extensions));
}

/** Whether a file of a program's folder is a compiler's, by its name. */
export function isCompilerOutput(name: string): boolean {
  return name === BINARY || name.startsWith(`${CLASSES}/`);
}

/** Returns the names of the files, safe as arguments. The entry comes first. */
function namesOf({ files }: Build): string[] {
  return files.map(({ name }) => (name.startsWith("-") ? `./${name}` : name));
}

/** The entry as the program's interpreter is told it, from where it runs. */
export function entryOf(build: Build): string {
  const entry = namesOf(build)[0] ?? "";
  return build.cwd === undefined || build.folder === undefined ? entry : `${build.folder}/${entry}`;
}

function outputOf({ outputFolder }: Build, name: string): string {
  return outputFolder === undefined ? name : `${outputFolder}/${name}`;
}

function sources(build: Build, extensions: readonly string[]): string[] {
  return namesOf(build).filter((name) => hasExtension(name, extensions));
}

function hasExtension(name: string, extensions: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return extensions.some((extension) => lower.endsWith(extension) && lower.length > extension.length);
}

/** The JVM cannot see its control group from inside. It gets half of the memory as heap, a small code cache, and one collector thread. */
function javaMemory({ memoryBytes }: Build): string[] {
  const heap = Math.max(32, Math.floor(memoryBytes / 2 / MEBIBYTE));
  return ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=32m", "-Xshare:auto", `-Xmx${heap}m`];
}

function className(entry: string): string {
  return entry
    .replace(/^\.\//, "")
    .replace(/\.java$/i, "")
    .replaceAll("/", ".");
}
