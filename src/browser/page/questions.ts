/** What can be acted on and is in view, in pixels of the document's own viewport. */
export interface Box {
  readonly ref: string;
  readonly role: string;
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What the driver asks the eyes in a document. */
export type Question =
  | { readonly ask: "snapshot"; readonly maxBytes: number; readonly offset: number; readonly part?: string | undefined }
  | { readonly ask: "frame" }
  | { readonly ask: "before" }
  | { readonly ask: "changes" }
  | { readonly ask: "unmark" }
  | { readonly ask: "nearest"; readonly label: string }
  | { readonly ask: "marks"; readonly max: number; readonly first: number };

/** `next`: the number of the next reference that is new. */
export type EyesAsked = Question & { readonly next: number };

export interface EyesAnswer {
  readonly next: number;
  readonly text?: string | undefined;
  /** References of elements with documents of their own. */
  readonly frames?: readonly string[];
  readonly boxes?: readonly Box[];
}
