// Writes tests/schemas/javascript.json: the schemas of tools as JavaScript's libraries emit them. To run it again, in a
// folder beside this repository's own packages:
//   npm i zod@3.25.76 zod4@npm:zod@4.6.7 zod-to-json-schema@3 @sinclair/typebox@0.34.52 valibot@1 @valibot/to-json-schema@1
//   node emit.mjs > javascript.json
import { readFileSync } from 'node:fs';
import { z as z3 } from 'zod';
import { zodToJsonSchema } from 'zod-to-json-schema';
import { z as z4 } from 'zod4';
import { Type } from '@sinclair/typebox';
import * as v from 'valibot';
import { toJsonSchema } from '@valibot/to-json-schema';

const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

// The shapes: the arguments that fit, those that miss, and the schema in each library.
const shapes = {
  weather: [{ city: 'Oslo' }, { city: 5 },
    (z) => z.object({ city: z.string().describe('The city'), unit: z.enum(['c', 'f']).optional() }),
    () => Type.Object({ city: Type.String({ description: 'The city' }), unit: Type.Optional(Type.Union([Type.Literal('c'), Type.Literal('f')])) }, { $id: 'Weather', title: 'Weather' }),
    () => v.object({ city: v.pipe(v.string(), v.description('The city')), unit: v.optional(v.picklist(['c', 'f'])) })],
  email: [{ to: 'ann@example.com', at: '2026-11-28T09:00:00Z' }, { to: 5, at: 'now' },
    (z) => z.object({ to: z.string().email(), at: z.string().datetime(), id: z.string().uuid().optional() }),
    () => Type.Object({ to: Type.String({ format: 'email', pattern: '^(?!\\.)[^@]+@[^@]+$' }), at: Type.String({ format: 'date-time' }) }),
    () => v.object({ to: v.pipe(v.string(), v.email()), at: v.pipe(v.string(), v.isoTimestamp()) })],
  bounds: [{ ttl: 1, share: 0.5 }, { ttl: 0, share: 0.5 },
    (z) => z.object({ ttl: z.number().int().positive(), share: z.number().gt(0).lt(1) }),
    () => Type.Object({ ttl: Type.Integer({ exclusiveMinimum: 0 }), share: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 }) }),
    () => v.object({ ttl: v.pipe(v.number(), v.integer(), v.minValue(1)), share: v.pipe(v.number(), v.minValue(0), v.maxValue(1)) })],
  tuple: [{ point: ['a', 2] }, { point: [true, true] },
    (z) => z.object({ point: z.tuple([z.string(), z.number()]), rest: z.tuple([z.string()]).rest(z.number()).optional() }),
    () => Type.Object({ point: Type.Tuple([Type.String(), Type.Number()]) }),
    () => v.object({ point: v.tuple([v.string(), v.number()]) })],
  nullable: [{ note: null, tag: null, parent: null }, { note: 5, tag: null, parent: null },
    (z) => z.object({ note: z.string().nullable(), tag: z.enum(['a', 'b']).nullable(), parent: z.object({ id: z.number() }).nullable() }),
    () => Type.Object({ note: Type.Union([Type.String(), Type.Null()]), tag: Type.Union([Type.Literal('a'), Type.Null()]), parent: Type.Union([Type.Object({ id: Type.Number() }), Type.Null()]) }),
    () => v.object({ note: v.nullable(v.string()), tag: v.nullable(v.picklist(['a', 'b'])), parent: v.nullable(v.object({ id: v.number() })) })],
  recursive: [{ root: { name: 'a', children: [{ name: 'b', children: [] }] } }, { root: { name: 'a', children: [{ name: 2, children: [] }] } },
    (z) => { const node = z.lazy(() => z.object({ name: z.string(), children: z.array(node) })); return z.object({ root: node }); },
    () => Type.Object({ root: Type.Recursive((Self) => Type.Object({ name: Type.String(), children: Type.Array(Self) }), { $id: 'Node' }) }),
    () => { const node = v.object({ name: v.string(), children: v.array(v.lazy(() => node)) }); return v.object({ root: node }); }],
  union: [{ shape: { kind: 'circle', r: 1 } }, { shape: { kind: 'circle', r: 'x' } },
    (z) => z.object({ shape: z.discriminatedUnion('kind', [z.object({ kind: z.literal('circle'), r: z.number() }), z.object({ kind: z.literal('box'), w: z.number() })]) }),
    () => Type.Object({ shape: Type.Union([Type.Object({ kind: Type.Literal('circle'), r: Type.Number() }), Type.Object({ kind: Type.Literal('box'), w: Type.Number() })]) }),
    () => v.object({ shape: v.variant('kind', [v.object({ kind: v.literal('circle'), r: v.number() }), v.object({ kind: v.literal('box'), w: v.number() })]) })],
  record: [{ labels: { a: 'b' }, any: [1, null] }, { labels: { a: 5 }, any: 1 },
    (z) => z.object({ labels: z.record(z.string(), z.string()), any: z.any() }).passthrough(),
    () => Type.Object({ labels: Type.Record(Type.String(), Type.String()), any: Type.Any() }, { additionalProperties: true }),
    () => v.looseObject({ labels: v.record(v.string(), v.string()), any: v.any() })],
  shared: [{ from: { x: 1 }, to: { x: 2 }, path: [{ x: 3 }] }, { from: { x: 1 }, to: { x: 'far' }, path: [] },
    (z) => { const place = z.object({ x: z.number() }); return z.object({ from: place, to: place, path: z.array(place) }); },
    () => { const place = Type.Object({ x: Type.Number() }); return Type.Object({ from: place, to: place, path: Type.Array(place) }); },
    () => { const place = v.object({ x: v.number() }); return v.object({ from: place, to: place, path: v.array(place) }); }],
  empty: [{}, 5, (z) => z.object({}), () => Type.Object({}), () => v.object({})],
};

const all = [];
for (const [shape, [fits, misses, zod, typebox, valibot]] of Object.entries(shapes)) {
  const add = (library, dialect, make) => {
    try {
      all.push({ library, dialect, shape, schema: JSON.parse(JSON.stringify(make())), fits, misses });
    } catch (error) {
      process.stderr.write(`${library}, ${dialect}: ${shape}: ${error.message}\n`);
    }
  };
  const zod3 = `zod ${version('zod')}`;
  for (const target of ['jsonSchema7', 'jsonSchema2019-09', 'openApi3']) {
    add(zod3, target, () => zodToJsonSchema(zod(z3), { target }));
  }
  add(zod3, 'jsonSchema7, named', () => zodToJsonSchema(zod(z3), { name: 'Arguments' }));
  const zod4 = `zod ${version('zod4')}`;
  for (const target of ['draft-2020-12', 'draft-7', 'draft-4', 'openapi-3.0']) {
    add(zod4, target, () => z4.toJSONSchema(zod(z4), { target }));
  }
  add(`typebox ${version('@sinclair/typebox')}`, 'default', typebox);
  add(`valibot ${version('valibot')}`, 'draft-7', () => toJsonSchema(valibot(), { errorMode: 'ignore' }));
}
process.stdout.write(`[\n${all.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
