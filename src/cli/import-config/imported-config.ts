/** What a configuration of another server becomes here. Every setting of the file is in one of the lists. */
export interface ImportedConfig {
  /** As in `config.json`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** A line for each setting that was taken over. */
  readonly taken: readonly string[];
  /** A line for each that was not, with the reason. */
  readonly left: readonly string[];
  /** Images that must become templates before what was taken over works. */
  readonly images: readonly ImageTemplate[];
}

export interface ImageTemplate {
  readonly template: string;
  /** As the file writes it. A valid reference. */
  readonly image: string;
  /** Where the image comes from, as a network policy. */
  readonly network: string;
}
