import { Type, type TObject, type TProperties } from 'typebox';

/** An object that the API document shows by its name. */
export const named = <Properties extends TProperties>(
  title: string,
  properties: Properties,
): TObject<Properties> => Type.Object(properties, { title });

/** The same of the body of a request, which has nothing else. */
export const bodyOf = <Properties extends TProperties>(
  title: string,
  properties: Properties,
): TObject<Properties> => Type.Object(properties, { title, additionalProperties: false });

/** The query of a request, which has nothing else. */
export const queryOf = <Properties extends TProperties>(properties: Properties): TObject<Properties> =>
  Type.Object(properties, { additionalProperties: false });
