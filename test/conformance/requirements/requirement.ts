/** How strongly the specification asks for something. `FACT`: stated without a keyword. `REC`: a reading of a gap. */
export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "MAY" | "FACT" | "REC";

/** One thing that the specification asks of a server: its number here, how strongly, and what. */
export type Requirement = readonly [id: string, level: Level, summary: string];
