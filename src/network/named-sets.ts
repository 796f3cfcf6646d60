/** A reviewed list of rules, with a name. */
export interface NamedSet {
  readonly name: string;
  readonly purpose: string;
  readonly rules: readonly NamedRule[];
}

export interface NamedRule {
  readonly rule: string;
  readonly reason: string;
}

/** Each set holds only hosts of one organisation that its purpose needs. A host that anybody can upload to would let data out. */
const SETS: readonly NamedSet[] = [
  {
    name: "npm",
    purpose: "Install packages of npm",
    rules: [
      { rule: "https://registry.npmjs.org", reason: "package data, archives and advisories" },
      { rule: "https://registry.yarnpkg.com", reason: "the same registry by the name that yarn and its lock files use" },
    ],
  },
  {
    name: "pypi",
    purpose: "Install packages of PyPI",
    rules: [
      { rule: "https://pypi.org", reason: "the index" },
      { rule: "https://files.pythonhosted.org", reason: "archives and wheels" },
    ],
  },
  {
    name: "debian",
    purpose: "Install packages of Debian",
    rules: [
      { rule: "deb.debian.org", reason: "the archive; apt checks signatures itself and uses plain HTTP by default" },
      { rule: "security.debian.org", reason: "security updates" },
    ],
  },
  {
    name: "github",
    purpose: "Clone and push over HTTPS, download archives and releases, call the API",
    rules: [
      { rule: "https://github.com", reason: "git over HTTPS, and the addresses of releases and archives" },
      { rule: "https://api.github.com", reason: "the API" },
      { rule: "https://uploads.github.com", reason: "files that the API adds to releases" },
      { rule: "https://codeload.github.com", reason: "archives of repositories" },
      { rule: "https://raw.githubusercontent.com", reason: "single files" },
      { rule: "https://objects.githubusercontent.com", reason: "files of releases" },
      { rule: "https://release-assets.githubusercontent.com", reason: "files of releases" },
      { rule: "https://media.githubusercontent.com", reason: "large files of git" },
      { rule: "https://github-cloud.githubusercontent.com", reason: "large files of git" },
    ],
  },
];

/** Returns all sets that a policy may name, for printing. */
export function describeSets(): readonly NamedSet[] {
  return SETS;
}

export function findSet(name: string): NamedSet | undefined {
  return SETS.find((set) => set.name === name);
}
