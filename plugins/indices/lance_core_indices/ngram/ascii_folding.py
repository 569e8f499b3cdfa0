"""The text that an NGRAM index stores for each code point that it folds to ASCII.

The table holds for code points outside ASCII what one of pylance's indices has for them, of which
each was indexed between ASCII neighbours; it unites the conversion to lower case and the folding.
Code points that have no lower case but fold to a capital, such as mathematical letters, keep the
capital. A code point of several characters stands for all of them; "." is any character that ends
trigrams, such as a bracket or a combining mark, and is what all other code points become.
"""

from __future__ import annotations

FOLDED_RUNS = {
    0x00AA: "a",
    0x00B2: (
        "2 3 . . . . . 1 o . 14 12 34 . a a a a a a ae c e e e e i i i i d n o o o o o . o u u u "
        "u y th ss a a a a a a ae c e e e e i i i i d n o o o o o . o u u u u y th y a a a a a a "
        "c c c c c c c c d d d d e e e e e e e e e e g g g g g g g g h h h h i i i i i i i i i. i "
        "ij ij j j k k k l l l l l l l l l l n n n n n n n n n o o o o o o oe oe r r r r r r s s "
        "s s s s s s t t t t t t u u u u u u u u u u u u w w y y y z z z z z z s"
    ),
    0x01A0: "o o",
    0x01AF: "u u",
    0x01C4: (
        "dz dz dz lj lj lj nj nj nj a a i i o o u u u u u u u u u u . a a a a ae ae . . g g k k o "
        "o o o . . j dz dz dz g g . . n n a a ae ae o o a a a a e e e e i i i i o o o o r r r r u "
        "u u u s s t t . . h h . . . . . . a a e e o o o o o o o o y y"
    ),
    0x02B0: "h . j r . . . w y",
    0x02E1: "l s x",
    0x1D2C: (
        "A AE B . D E . G H I J K L M N . O . P R T U W a . . . b d e . . . g . k m n o . . . p t "
        "u . . v . . . . . . i r u v"
    ),
    0x1D9C: "c . d . f",
    0x1DBB: "z",
    0x1E00: (
        "a a b b b b b b c c d d d d d d d d d d e e e e e e e e e e f f g g h h h h h h h h h h "
        "i i i i k k k k k k l l l l l l l l m m m m m m n n n n n n n n o o o o o o o o p p p p "
        "r r r r r r r r s s s s s s s s s s t t t t t t t t u u u u u u u u u u v v v v w w w w "
        "w w w w w w x x x x y y z z z z z z h t w y a s . . ss . a a a a a a a a a a a a a a a a "
        "a a a a a a a a e e e e e e e e e e e e e e e e i i i i o o o o o o o o o o o o o o o o "
        "o o o o o o o o u u u u u u u u u u u u u u y y y y y y y y"
    ),
    0x2070: (
        "0 i . . 4 5 6 7 8 9 . . . . . n 0 1 2 3 4 5 6 7 8 9 . . . . . . a e o x . h k l m n p s t"
    ),
    0x20A8: "Rs",
    0x2100: (
        "a.c a.s C C . c.o c.u . . F g H H H h h I I L l . N No . . P Q R R R . . SM TEL TM . Z . "
        ". . Z . k a B C . e E F . M o . . . . i . FAX"
    ),
    0x2145: (
        "D d e i j . . . . . . 17 19 110 13 23 15 25 35 45 16 56 18 38 58 78 1 i ii iii iv v vi "
        "vii viii ix x xi xii l c d m i ii iii iv v vi vii viii ix x xi xii l c d m"
    ),
    0x2189: "03",
    0x2460: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
    0x2488: "1. 2. 3. 4. 5. 6. 7. 8. 9. 10. 11. 12. 13. 14. 15. 16. 17. 18. 19. 20.",
    0x24B6: (
        "a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n o p q r "
        "s t u v w x y z 0"
    ),
    0x2C7C: "j V",
    0x3250: "PTE 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35",
    0x32B1: "36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 1 2 3 4 5 6 7 8 9 10 11 12 Hg erg eV LTD",
    0x3358: (
        "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 hPa da AU bar oV pc dm "
        "dm2 dm3 IU . . . . . pA nA A mA kA KB MB GB cal kcal pF nF F g mg kg Hz kHz MHz GHz THz "
        "l ml dl kl fm nm m mm cm km mm2 cm2 m2 km2 mm3 cm3 m3 km3 ms ms2 Pa kPa MPa GPa rad rads "
        "rads2 ps ns s ms pV nV V mV kV MV pW nW W mW kW MW k M a. Bq cc cd Ckg Co. dB Gy ha HP "
        "in KK KM kt lm ln log lx mb mil mol PH p. PPM PR sr Sv Wb Vm Am 1 2 3 4 5 6 7 8 9 10 11 "
        "12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 gal"
    ),
    0xA7F1: "S C F Q . . . H oe",
    0xFB00: "ff fi fl ffi ffl st st",
    0xFF10: "0 1 2 3 4 5 6 7 8 9",
    0xFF21: (
        "a b c d e f g h i j k l m n o p q r s t u v w x y z . . . . . . a b c d e f g h i j k l "
        "m n o p q r s t u v w x y z"
    ),
    0x10783: "ae",
    0x10795: "h",
    0x107A2: "o . . q",
    0x1CCD6: "A B C D E F G H I J K L M N O P Q R S T U V 0 1 2 3 0 1 2 3 4 5 6 7 8 9",
    0x1D400: (
        "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r "
        "s t u v w x y z A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g . i j "
        "k l m n o p q r s t u v w x y z A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b "
        "c d e f g h i j k l m n o p q r s t u v w x y z A . C D . . G . . J K . . N O P Q . S T "
        "U V W X Y Z a b c d . f . h i j k l m n . p q r s t u v w x y z A B C D E F G H I J K L "
        "M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z A B . D "
        "E F G . . J K L M N O P Q . S T U V W X Y . a b c d e f g h i j k l m n o p q r s t u v "
        "w x y z A B . D E F G . I J K L M . O . . . S T U V W X Y . a b c d e f g h i j k l m n "
        "o p q r s t u v w x y z A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f "
        "g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J K L M N O P Q R S T U V W X "
        "Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J K L M N O P "
        "Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H "
        "I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z "
        "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r "
        "s t u v w x y z A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j "
        "k l m n o p q r s t u v w x y z i"
    ),
    0x1D7CE: (
        "0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 "
        "4 5 6 7 8 9"
    ),
    0x1F100: "0. 0. 1. 2. 3. 4. 5. 6. 7. 8. 9.",
    0x1F12A: "S C R CD WZ . A B C D E F G H I J K L M N O P Q R S T U V W X Y Z HV MV SD SS PPV WC",
    0x1F16A: "MC MD MR",
    0x1F190: "DJ",
    0x1FBF0: "0 1 2 3 4 5 6 7 8 9",
}
"""For the first code point of a run: the texts of its code points, separated by spaces."""
