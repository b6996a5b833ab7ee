import type { DescMessage } from "@bufbuild/protobuf";
import { formReader, type Read, type ReaderTools } from "./form-reader.js";
import { type FormWriter, formWriter, type WriterTools } from "./form-writer.js";
import type { EnumForm, FormTables } from "./json-form.js";

/**
 * An alternative to ProtoJSON for the same messages. Compiled codecs are cached by its identity, so each form must be
 * created once. The codecs depend on this interface only, so that a bundle without older versions excludes the compiler
 * of forms.
 */
export interface JsonForm {
  readonly name: string;
  readonly enums: Readonly<Record<string, EnumForm>>;
  /** Compiles the writer of a type with a table in the form. */
  readonly writer: (desc: DescMessage, tools: WriterTools) => FormWriter | undefined;
  /** Compiles the reader of a type with a table in the form. */
  readonly reader: (desc: DescMessage, tools: ReaderTools) => Read | undefined;
}

/**
 * Creates a form from its tables, for `jsonWriter`, `jsonReader` and `jsonPieces`. A type is compiled on first use.
 *
 * @throws TypeError on that first use, if a table names a field that the type does not have
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
