import type { DescMessage } from "@bufbuild/protobuf";
import { formReader, type Read, type ReaderTools } from "./form-reader.js";
import { type FormWriter, formWriter, type WriterTools } from "./form-writer.js";
import type { EnumForm, FormTables } from "./json-form.js";

/**
 * Another JSON form of the same messages than ProtoJSON. What is compiled of it is kept by its identity: make it once. The codecs
 * know it by this interface alone, so that a program without older versions has nothing of what compiles them.
 */
export interface JsonForm {
  readonly name: string;
  readonly enums: Readonly<Record<string, EnumForm>>;
  /** What writes a type that the form has a table for. */
  readonly writer: (desc: DescMessage, tools: WriterTools) => FormWriter | undefined;
  /** What reads it. */
  readonly reader: (desc: DescMessage, tools: ReaderTools) => Read | undefined;
}

/**
 * A form of its tables, to be given to `jsonWriter`, `jsonReader` and `jsonPieces`. A type is compiled when it is first used.
 * @throws TypeError then, for a table that names a field which the type does not have.
 */
export function makeForm(tables: FormTables): JsonForm {
  const { name, types, enums = {} } = tables;
  const typeOf = ({ typeName }: DescMessage) => (Object.hasOwn(types, typeName) ? types[typeName] : undefined);
  return {
    name,
    enums,
    writer: (desc, tools) => {
      const type = typeOf(desc);
      return type === undefined ? undefined : formWriter(desc, type, tools);
    },
    reader: (desc, tools) => {
      const type = typeOf(desc);
      return type === undefined
        ? undefined
        : formReader(desc, type, { ...tools, takesSnakeCase: tables.takesSnakeCase });
    },
  };
}
